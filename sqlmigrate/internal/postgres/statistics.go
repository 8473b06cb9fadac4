package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// statisticsColumnsSQL returns the columns of keptStatistics, which are the properties of
// extended statistics that PostgreSQL loses when it builds them again, and their
// definition. It reads stxstattarget and stxexprs from JSON, because PostgreSQL 12 does not
// have these columns. An absent target, NULL (since PostgreSQL 17) and -1 all mean the
// default. The statistics of a materialized view (relkind 'm') get their owner by name,
// because package pgview sets the owner of the view by name too.
const statisticsColumnsSQL = `s.stxrelid::bigint, to_jsonb(s) ->> 'stxexprs' IS NOT NULL, n.nspname, s.stxname, pg_get_userbyid(s.stxowner),
       s.stxowner = r.relowner AND r.relkind <> 'm', rn.nspname, r.relname,
       coalesce((to_jsonb(s) ->> 'stxstattarget')::integer, -1), obj_description(s.oid, 'pg_statistic_ext'), pg_get_statisticsobjdef(s.oid)
FROM pg_catalog.pg_statistic_ext s
JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
JOIN pg_catalog.pg_class r ON r.oid = s.stxrelid
JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace`

// statisticsSQL continues builtAgainSQL, and returns the extended statistics that
// PostgreSQL builds again when columns are widened.
const statisticsSQL = `
SELECT made.root::bigint, ` + statisticsColumnsSQL + `
JOIN made ON made.classid = 'pg_catalog.pg_statistic_ext'::regclass AND made.objid = s.oid
ORDER BY n.nspname, s.stxname`

// keptStatistics are extended statistics of a table or materialized view.
type keptStatistics struct {
	Rebuilt
	Schema, Name, Owner string
	SameOwner           bool // whether they have the same owner as the table
	TableSchema, Table  string
	Target              int
	Comment             *string
	Definition          string
}

// keep returns the statements that restore the properties of the statistics which
// PostgreSQL loses, namely the target, the comment and the owner. If the statistics have
// the same owner as the table, they get the owner that the table has when the statement
// runs, because that may have changed since the plan was made.
func (s *keptStatistics) keep() []string {
	var texts []string
	statistics := pgsql.Qualified(s.Schema, s.Name)
	if s.Target >= 0 {
		texts = append(texts, fmt.Sprintf("ALTER STATISTICS %s SET STATISTICS %d", statistics, s.Target))
	}
	texts = append(texts, pgsql.Comment("STATISTICS "+statistics, s.Comment)...)
	if s.SameOwner {
		return append(texts, pgsql.Do("", setOwner("STATISTICS", statistics, pgsql.Qualified(s.TableSchema, s.Table))))
	}
	return append(texts, "ALTER STATISTICS "+statistics+" OWNER TO "+pgsql.Quote(s.Owner))
}

// statements implements object. It returns the statements that drop the statistics and
// create them again.
func (s *keptStatistics) statements() (drop, create string) {
	return "DROP STATISTICS " + pgsql.Qualified(s.Schema, s.Name), s.Definition
}
