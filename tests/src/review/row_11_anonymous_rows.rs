//! Nothing anonymous writes an unbounded number of rows; unused clients expire.
