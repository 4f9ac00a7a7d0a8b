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
