//! A slow or dead destination delays nobody else's jobs.
