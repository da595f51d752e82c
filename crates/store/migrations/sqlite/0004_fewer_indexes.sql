-- Each entry of the audit was written to eight indexes, while the run waited. Searches by two fields
-- go along the index of one of them, and look at the other on the way.
DROP INDEX audit_by_principal_namespace;
DROP INDEX audit_by_principal_action;
DROP INDEX audit_by_namespace_action;
