-- What a directory vouched for ends when its connection is disabled.

-- Raised when it is disabled: what it vouched for in an earlier epoch never counts again.
ALTER TABLE organization_connection ADD COLUMN epoch bigint NOT NULL DEFAULT 1;

-- Of the grants that rest on a directory's word: those of this epoch and of earlier ones.
ALTER TABLE grant_ending ADD COLUMN directory_epoch bigint;

-- People choose a connection by its name.
UPDATE organization_connection c SET name = left(c.name, 80) || ' ' || left(c.connection_id::text, 8)
WHERE EXISTS (SELECT 1 FROM organization_connection o WHERE o.organization_id = c.organization_id
                AND lower(o.name) = lower(c.name) AND o.connection_id < c.connection_id);
CREATE UNIQUE INDEX organization_connection_by_name ON organization_connection (organization_id, lower(name));
