//! NUL in a form field is invalid_request.
