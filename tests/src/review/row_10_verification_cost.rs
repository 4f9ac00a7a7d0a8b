//! Anonymous signature verification is bounded and off the async threads.
