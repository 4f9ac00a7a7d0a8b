-- How the client and the APIs were defined when all of a grant was last seen to be allowed; null: not yet looked at.
ALTER TABLE oauth_grant ADD COLUMN definition bigint;
