-- What a yes covers: one call, or all calls of the tool in a run or a session. It covers only calls that
-- are asked about for the same reasons.
ALTER TABLE approvals ADD COLUMN scope TEXT NOT NULL DEFAULT 'once' CHECK (scope IN ('once', 'run', 'session', 'always'));
ALTER TABLE approvals ADD COLUMN reasons TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN run TEXT;
ALTER TABLE approvals ADD COLUMN session TEXT;
