DO $gormflake_stage$
BEGIN
  IF 'STAGE' = 'finish' THEN
    RAISE EXCEPTION 'gormflake: the old columns have been dropped: there is no way back';
  ELSIF EXISTS (SELECT FROM (VALUES KEYS) AS k (t, c)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = k.t::regclass AND a.attname = k.c WHERE a.atttypid = 'int8'::regtype) THEN
    RAISE EXCEPTION 'gormflake: the keys are wide: run gormflake migrate online revert first';
  END IF;
END
$gormflake_stage$
