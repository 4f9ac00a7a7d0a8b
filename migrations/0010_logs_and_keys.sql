-- The logs are append-only by partition too. PostgreSQL copies row triggers of a partitioned table to its partitions and
-- to those made later; it copies no statement triggers and no privileges, so TRUNCATE of a partition got through.

-- Whoever makes partitions calls this afterwards. How many it guarded that were not.
CREATE FUNCTION guard_log_partitions() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    found record;
    guarded integer := 0;
BEGIN
    FOR found IN
        SELECT child.oid::regclass AS partition, parent.relname AS log
        FROM pg_inherits
        JOIN pg_class child ON child.oid = inhrelid
        JOIN pg_class parent ON parent.oid = inhparent
        WHERE inhparent IN ('security_log'::regclass, 'trail'::regclass)
          AND NOT EXISTS (
              SELECT 1 FROM pg_trigger
              WHERE tgrelid = child.oid AND tgname = parent.relname || '_no_truncate'
          )
        ORDER BY child.relname
    LOOP
        EXECUTE format(
            'CREATE TRIGGER %I BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %I()',
            found.log || '_no_truncate', found.partition, found.log || '_is_append_only'
        );
        EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %s FROM PUBLIC, CURRENT_USER', found.partition);
        guarded := guarded + 1;
    END LOOP;
    RETURN guarded;
END
$$;

SELECT guard_log_partitions();

-- What its maker had proved when a personal key was made: an organization that asks for more later asks it of keys too.
-- Those that exist were made under the policy of their day; they count as if made under today's.
ALTER TABLE api_key ADD COLUMN made_level text NOT NULL DEFAULT 'none' CHECK (made_level IN ('none', 'aal1', 'aal2'));
UPDATE api_key k SET made_level = o.policy->>'min_level'
FROM organization o
WHERE k.kind = 'personal' AND o.organization_id = k.organization_id AND o.policy->>'min_level' IN ('aal1', 'aal2');
