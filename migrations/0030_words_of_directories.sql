-- People claim provisioned memberships by a connection only where an owner said so: of two directories of an organization
-- one may choose the subjects of its people freely.
ALTER TABLE organization_connection ADD COLUMN match_provisioned boolean NOT NULL DEFAULT false;

-- The directory's last word is that the user is not active, also if disabled_by_directory is set without this. It stays
-- when somebody else disables and enables the member.
ALTER TABLE membership ADD COLUMN deactivated boolean NOT NULL DEFAULT false;
