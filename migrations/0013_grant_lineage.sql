-- A grant that was derived from another, and lives no longer than it.

-- From which grants, the nearest first; null: a person allowed it. All of them are of the same account.
ALTER TABLE oauth_grant ADD COLUMN ancestors uuid[];
