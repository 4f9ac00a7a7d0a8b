-- What a request of a directory asks before its transaction: the key and the organization. Of the limit a node takes a
-- hundred at once.
SELECT k.key_id, k.kind, k.organization_id, k.membership_id, k.name, k.permissions, k.made_level, k.allowed_networks,
    k.created_by, k.created_at, k.expires_at, k.last_used_at, k.last_used_address, k.revoked_at, k.revoke_reason
  FROM api_key k WHERE k.key_id = :key AND k.secret_hash = :secret::bytea AND k.revoked_at IS NULL AND k.expires_at > now();
SELECT organization_id, slug, name, status, policy, locale, authority_version, version, created_at
  FROM organization WHERE organization_id = :organization::uuid;
