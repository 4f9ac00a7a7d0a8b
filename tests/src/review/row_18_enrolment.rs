//! Where a level is demanded, a person without a second factor is led to enrol one.
