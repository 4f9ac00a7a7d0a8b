//! Pushed authorization requests are limited for every kind of client.
