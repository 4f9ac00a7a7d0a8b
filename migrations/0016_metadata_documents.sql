-- Documents that clients publish about themselves, and documents that are published here for APIs.

-- Until when the document that was read is valid; null for clients of any other origin.
ALTER TABLE client ADD COLUMN document_until timestamptz;

-- The URLs at which the API is reached and for which its metadata are published here (RFC 9728).
ALTER TABLE api ADD COLUMN resources text[] NOT NULL DEFAULT '{}';
