-- The transaction of POST /Users, for pgbench. Found by log_statement = all in PostgreSQL's log during one request; the
-- same statements in the same order, without the timeouts that the service sets, and with random values. To compare
-- again: docs/performance.md#provisioning.
\set n random(1, 4000000000000)
BEGIN;
SELECT organization_id, slug, name, status, policy, locale, authority_version, version, created_at
  FROM organization WHERE organization_id = :organization::uuid FOR UPDATE;
SELECT k.key_id, k.kind, k.organization_id, k.membership_id, k.name, k.permissions, k.made_level, k.allowed_networks,
    k.created_by, k.created_at, k.expires_at, k.last_used_at, k.last_used_address, k.revoked_at, k.revoke_reason
  FROM api_key k WHERE k.key_id = :key AND k.revoked_at IS NULL AND k.expires_at > now() FOR SHARE;
SELECT m.membership_id, true AS has_name FROM membership m
  WHERE m.organization_id = :organization::uuid AND m.state <> 'removed' AND m.user_name_key IS NOT NULL
    AND m.user_name_key = 'ana.almeida.' || :n || '@acme.example'
    AND m.membership_id <> '00000000-0000-0000-0000-000000000000'
UNION ALL
SELECT m.membership_id, false FROM membership m
  WHERE m.organization_id = :organization::uuid AND m.state <> 'removed' AND m.user_name_key IS NOT NULL
    AND m.external_id = '00u' || md5(:n) AND m.membership_id <> '00000000-0000-0000-0000-000000000000'
ORDER BY has_name DESC LIMIT 1;
WITH counted AS (
  INSERT INTO provisioning_head AS h (organization_id, users) VALUES (:organization::uuid, 1)
  ON CONFLICT (organization_id) DO UPDATE SET users = h.users + 1 RETURNING users
), m AS (
  INSERT INTO membership (organization_id, membership_id, state, source, display_name, primary_role,
      user_name, user_name_key, external_id, profile, email_keys, disabled_at, disabled_by,
      disabled_by_directory, deactivated, previous_id)
  SELECT p.organization, md5(p.n)::uuid, p.state, 'scim', 'Ana Almeida', 'member', p.name, p.name, '00u' || md5(p.n),
      replace(:profile, '#', p.n)::jsonb, ARRAY[p.name],
      CASE WHEN p.state = 'disabled' THEN now() END, CASE WHEN p.state = 'disabled' THEN 'api_key' END,
      p.state = 'disabled', p.state = 'disabled',
      (SELECT d.membership_id FROM membership d
       WHERE d.organization_id = p.organization AND d.user_name_key = p.name AND d.state = 'removed'
       ORDER BY d.disabled_at DESC LIMIT 1)
  FROM (VALUES (:organization::uuid, :n, 'provisioned', 'ana.almeida.' || :n || '@acme.example'))
    p (organization, n, state, name), counted WHERE users <= 1000000
  RETURNING *
), role AS (
  INSERT INTO membership_role (organization_id, role_key, created_at, membership_id)
  SELECT organization_id, 'member', created_at, membership_id FROM m
)
SELECT m.membership_id, m.user_name, m.external_id, m.state,
    m.deactivated OR m.disabled_by_directory AS deactivated, m.profile, m.version, m.created_at,
    coalesce(m.modified_at, m.created_at) AS modified_at FROM m;
SELECT sequence, hash, greatest(at, clock_timestamp()) AS at FROM trail_head
  WHERE organization_id = :organization::uuid FOR UPDATE \gset
-- The entry's id is as the service makes it: the time, then chance.
WITH entry AS (
  INSERT INTO trail (organization_id, entry_id, sequence, kind, actor, target, outcome, reason, changes,
      request_id, at, previous_hash, hash)
  VALUES (:organization::uuid,
    (lpad(to_hex((extract(epoch FROM :at::timestamptz) * 1000)::int8), 12, '0') || '7000' || right(md5(:n), 16))::uuid,
    :sequence::int8 + 1, 'member.provisioned', '{"id": "aaaaaaaaaaaa", "kind": "api_key"}',
    '{"id": "00000000-0000-4000-8000-000000000000", "kind": "member"}', 'done', NULL,
    '{"after": {"role": "member", "active": true}, "before": null}', md5(:n)::uuid, :at::timestamptz,
    :hash::bytea, sha256(:n::text::bytea))
), personal AS (
  INSERT INTO trail_personal (organization_id, entry_id, personal) VALUES (:organization::uuid,
    (lpad(to_hex((extract(epoch FROM :at::timestamptz) * 1000)::int8), 12, '0') || '7000' || right(md5(:n), 16))::uuid,
    '{"address": "192.0.2.1", "user_agent": "provisioning"}')
)
UPDATE trail_head SET sequence = :sequence::int8 + 1, hash = sha256(:n::text::bytea), at = :at::timestamptz
  WHERE organization_id = :organization::uuid;
COMMIT;
