//! A superseded code or refresh token ends its family, whatever else is wrong with the request.
