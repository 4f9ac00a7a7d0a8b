//! Changes made on the command line are in the security log.
