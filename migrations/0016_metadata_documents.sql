-- Documents that clients publish about themselves, and documents that are published here for APIs.

-- Until when the document that was read is valid; null for clients of any other origin.
ALTER TABLE client ADD COLUMN document_until timestamptz;
-- Of what the document said: only a change by its publisher replaces what an administrator has changed here.
ALTER TABLE client ADD COLUMN document_digest bytea;

-- The URLs at which the API is reached and for which its metadata are published here (RFC 9728).
ALTER TABLE api ADD COLUMN resources text[] NOT NULL DEFAULT '{}';
