"""Prints SQL that makes an organization with three people in it and two keys, and before it the keys: one with everything
an organization's may hold, one with everything the platform's may. Their format is crates/protocol/src/api_key.rs's."""

import base64
import hashlib
import json
import secrets
import sys
import uuid
import zlib

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def make():
    key_id = "".join(secrets.choice(ALPHABET) for _ in range(12))
    secret = secrets.token_bytes(32)
    shown = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    crc = zlib.crc32(f"{key_id}_{shown}".encode())
    checksum = "".join(ALPHABET[(crc >> (5 * at)) % 32] for at in range(6))
    return key_id, hashlib.sha256(secret).hexdigest(), f"pt_key_{key_id}_{shown}_{checksum}"


def insert(kind, organization, permissions):
    key_id, digest, shown = make()
    where = f"'{organization}'" if organization else "NULL"
    listed = ",".join(f'"{name}"' for name in permissions)
    return shown, (
        "INSERT INTO api_key (key_id, kind, organization_id, name, secret_hash, permissions, allowed_networks, "
        f"created_by, expires_at) VALUES ('{key_id}', '{kind}', {where}, 'schemathesis', '\\x{digest}', "
        f"'{{{listed}}}', '{{}}', 'schemathesis', now() + interval '1 day');"
    )


def join(organization, name, role):
    account, membership = uuid.uuid4(), uuid.uuid4()
    return (
        "INSERT INTO account (account_id, state, display_name, locale, user_handle, platform_administrator) VALUES "
        f"('{account}', 'active', '{name}', 'en', '\\x{account.hex}', false);\n"
        "INSERT INTO membership (organization_id, membership_id, account_id, state, source, display_name, primary_role) "
        f"VALUES ('{organization}', '{membership}', '{account}', 'active', 'admin', '{name}', '{role}');\n"
        "INSERT INTO membership_role (organization_id, role_key, created_at, membership_id) SELECT organization_id, "
        f"'{role}', created_at, membership_id FROM membership WHERE membership_id = '{membership}';"
    )


def main():
    document = json.load(open(sys.argv[1]))
    operations = [op for path in document["paths"].values() for op in path.values()]
    named = sorted({op["x-permission"] for op in operations if "x-permission" in op})
    platform = [name for name in named if name.startswith("platform.") or name in
                ("organizations:administer", "members:impersonate")]
    organization = str(uuid.uuid4())
    own, own_sql = insert("organization", organization, [name for name in named if name not in platform])
    all_of_it, all_sql = insert("platform", None, platform)
    print(f"-- {organization} {own} {all_of_it}")
    print(f"INSERT INTO organization_slug (slug, organization_id) VALUES ('schemathesis', '{organization}');")
    print("INSERT INTO organization (organization_id, slug, name, locale, policy) VALUES "
          f"('{organization}', 'schemathesis', 'Schemathesis', 'en', '{{}}');")
    for name, role in (("Ana", "owner"), ("Bea", "owner"), ("Caio", "member")):
        print(join(organization, name, role))
    print(own_sql)
    print(all_sql)


main()
