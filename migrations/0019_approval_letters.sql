-- Requests whose clients are to be told when their time is over.
CREATE INDEX approval_by_letter ON approval (expires_at) WHERE notification_token IS NOT NULL;
