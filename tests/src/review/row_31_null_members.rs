//! PATCH with a null member does what the document says.
