-- Lists of an organization's approvals and delegations read what they show, however many there are.

CREATE INDEX approval_by_state ON approval (organization_id, state, created_at, approval_id)
    WHERE organization_id IS NOT NULL;

CREATE INDEX delegation_by_time ON delegation (organization_id, created_at, delegation_id)
    WHERE revoked_at IS NULL AND organization_id IS NOT NULL;
CREATE INDEX delegation_by_id ON delegation (organization_id, delegation_id)
    WHERE revoked_at IS NULL AND organization_id IS NOT NULL;
