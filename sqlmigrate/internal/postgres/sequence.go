package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// A sequence gives values to a column.
type sequence struct {
	pgsql.Sequence
	oid                     int64
	schema, name            string
	unlogged                bool
	odd                     bool // unlogged, and the table of its identity is not, or the other way round
	last                    int64
	called                  bool // last has been given away
	comment                 sql.NullString
	grants                  []string // after REVOKE where that is needed
	internal                bool     // of an identity
	drop                    bool     // goes when its column does without
	others                  []string // that use it
	ownedTable, ownedColumn int64
	user                    *column // the first that was found, as a root
}

func (s *sequence) target() string { return pgsql.Qualified(s.schema, s.name) }

// retype gives the sequence of an identity its type back, where that is not the
// column's, which it gets with it.
func (s *sequence) retype() string {
	return fmt.Sprintf("ALTER SEQUENCE %s AS %s MINVALUE %d MAXVALUE %d", s.target(), s.Type, s.Smallest, s.Largest)
}

// regclass is the argument of setval.
func (s *sequence) regclass() string { return pgsql.Literal(s.target()) }

// create makes the sequence again, as what the column's default refers to.
func (s *sequence) create(c *column) []string {
	unlogged := ""
	if s.unlogged {
		unlogged = "UNLOGGED "
	}
	return slices.Concat([]string{
		fmt.Sprintf("CREATE %sSEQUENCE %s AS %s %s", unlogged, s.target(), s.Type, s.Options()),
		doBlock(ownerOf("SEQUENCE", s.target(), c.target())), // who creates it may not be who owns the table
		fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", s.target(), c.target(), pgsql.Quote(c.name)),
	}, s.trimmings())
}

// ownerOf is a part of the body of a DO statement. It gives an object to the
// user who owns a table at that time.
func ownerOf(kind, object, table string) string {
	return fmt.Sprintf("  EXECUTE format('ALTER %s %%s OWNER TO %%I', %s,\n"+
		"    (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = %s::regclass));\n",
		kind, pgsql.Literal(object), pgsql.Literal(table))
}

// trimmings are what a new sequence has not.
func (s *sequence) trimmings() []string {
	var texts []string
	switch {
	case s.odd && s.unlogged:
		texts = append(texts, "ALTER SEQUENCE "+s.target()+" SET UNLOGGED")
	case s.odd:
		texts = append(texts, "ALTER SEQUENCE "+s.target()+" SET LOGGED")
	}
	if s.comment.Valid {
		texts = append(texts, fmt.Sprintf("COMMENT ON SEQUENCE %s IS %s", s.target(), pgsql.Literal(s.comment.String)))
	}
	return append(texts, s.grants...)
}

// follow sets the sequence to give the next key: the one that it would have
// given then, or the first in its series that is past the largest in use.
func (s *sequence) follow(c *column) string {
	column, from := pgsql.Quote(c.name), c.target()
	if !s.drop && !s.internal { // it has continued since
		return s.catchUp(column, from)
	}
	if s.Increment == 1 && s.called {
		return fmt.Sprintf("SELECT pg_catalog.setval(%s, greatest(max(%s), %d)) FROM %s", s.regclass(), column, s.last, from)
	}
	next := s.last
	if s.called {
		next += s.Increment
	}
	edge, past := "max", ">="
	if s.Increment < 0 {
		edge, past = "min", "<="
	}
	used := fmt.Sprintf("%s(%s)", edge, column)
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, CASE WHEN %[2]s %[3]s %[4]d THEN %[4]d + (%[2]s - %[4]d) / %[5]d * %[5]d ELSE %[6]d END, "+
		"coalesce(%[2]s %[3]s %[4]d, false) OR %[7]t) FROM %[8]s",
		s.regclass(), used, past, next, s.Increment, s.last, s.called, from)
}

func (s *sequence) catchUp(column, from string) string {
	edge, past := "max", ">="
	if s.Increment < 0 {
		edge, past = "min", "<="
	}
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, %s) FROM %s HAVING %[2]s %[4]s (SELECT last_value FROM %[5]s)",
		s.regclass(), edge+"("+column+")", from, past, s.target())
}

// auto is how the database assigns the column.
func (c *column) auto() string {
	for _, m := range c.members {
		switch {
		case m.identity:
			return "identity"
		case len(m.sequences) > 0:
			return "serial"
		}
	}
	for _, m := range c.members {
		if c.key && m.value != "" {
			return "default"
		}
	}
	return ""
}

// defaults reads the expressions. Expressions of columns that are not keys stay, unless
// a sequence is in them.
func (p *inspection) defaults(ctx context.Context) error {
	tables, columns := p.nodes()
	return each(ctx, p.tx, `
SELECT ad.adrelid::bigint, ad.adnum, pg_get_expr(ad.adbin, ad.adrelid)
FROM unnest($1::text::oid[], $2::text::int2[]) AS node (rel, att)
JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = node.rel AND ad.adnum = node.att
JOIN pg_catalog.pg_attribute a ON a.attrelid = node.rel AND a.attnum = node.att AND a.attgenerated = ''`,
		[]any{tables, columns}, func(rows *sql.Rows) error {
			var n node
			var value string
			if err := rows.Scan(&n.table, &n.column, &value); err != nil {
				return err
			}
			p.columns[n].value = value
			return nil
		})
}

// sequencesSQL finds the sequences that belong to an identity, and those in a
// default.
const sequencesSQL = `
WITH node (rel, att) AS (
  SELECT * FROM unnest($1::text::oid[], $2::text::int2[])
), used (rel, att, seq, internal) AS (
  SELECT node.rel, node.att, d.objid, true
  FROM node JOIN pg_catalog.pg_depend d
    ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = node.rel AND d.refobjsubid = node.att
   AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'i'
  UNION
  SELECT node.rel, node.att, d.refobjid, false
  FROM node
  JOIN pg_catalog.pg_attrdef ad ON ad.adrelid = node.rel AND ad.adnum = node.att
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = ad.oid
   AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjsubid = 0
)
SELECT used.rel::bigint, used.att, used.internal, c.oid::bigint, n.nspname, c.relname, c.relpersistence = 'u',
       used.internal AND c.relpersistence <> r.relpersistence AND current_setting('server_version_num')::integer >= 150000,
       format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
       obj_description(c.oid, 'pg_class'), coalesce(o.refobjid, 0)::bigint, coalesce(o.refobjsubid, 0)
FROM used
JOIN pg_catalog.pg_class c ON c.oid = used.seq AND c.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = used.rel
JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
LEFT JOIN pg_catalog.pg_depend o ON o.classid = 'pg_catalog.pg_class'::regclass AND o.objid = c.oid
  AND o.refclassid = 'pg_catalog.pg_class'::regclass AND o.refobjsubid > 0 AND o.deptype IN ('a', 'i')
ORDER BY n.nspname, c.relname, used.rel, used.att`

func (p *inspection) sequences(ctx context.Context) error {
	tables, columns := p.nodes()
	found := map[int64]*sequence{}
	var order []*sequence
	err := each(ctx, p.tx, sequencesSQL, []any{tables, columns}, func(rows *sql.Rows) error {
		var n node
		var s sequence
		into := []any{&n.table, &n.column, &s.internal, &s.oid, &s.schema, &s.name, &s.unlogged, &s.odd}
		if err := rows.Scan(slices.Concat(into, s.Fields(), []any{&s.comment, &s.ownedTable, &s.ownedColumn})...); err != nil {
			return err
		}
		c := p.columns[n]
		if found[s.oid] == nil {
			s.user = c.root
			found[s.oid] = &s
			order = append(order, &s)
		}
		c.sequences = append(c.sequences, found[s.oid])
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range order {
		if err := p.completeSequence(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *inspection) completeSequence(ctx context.Context, s *sequence) error {
	err := p.tx.QueryRowContext(ctx, "SELECT last_value, is_called FROM "+s.target()).Scan(&s.last, &s.called)
	if err != nil {
		return fmt.Errorf("sqlmigrate: the value of sequence %s: %w", p.display(s.schema, s.name), err)
	}
	if err := p.usersOf(ctx, s); err != nil {
		return err
	}
	if err := p.labelsOf(ctx, s); err != nil {
		return err
	}
	return p.grantsOf(ctx, s)
}

// labelsOf refuses security labels, which go with the sequence: only a server
// with their provider could write them again.
func (p *inspection) labelsOf(ctx context.Context, s *sequence) error {
	if !s.drop && !s.internal {
		return nil
	}
	return each(ctx, p.tx, `
SELECT provider FROM pg_catalog.pg_seclabel
WHERE classoid = 'pg_catalog.pg_class'::regclass AND objoid = $1::bigint::oid ORDER BY provider`, []any{s.oid}, func(rows *sql.Rows) error {
		var provider string
		if err := rows.Scan(&provider); err != nil {
			return err
		}
		p.blocker(p.display(s.user.schema, s.user.table), "sequence "+p.display(s.schema, s.name),
			"phase detach drops it, and its security label of provider "+provider+" with it",
			"take the label off, and write it again when phase detach is taken back")
		return nil
	})
}

// usersOf finds out whether the sequence can go: nothing but the column that
// owns it, and those that have this from it, may use it.
func (p *inspection) usersOf(ctx context.Context, s *sequence) error {
	home := s.user
	if owner := p.columns[node{s.ownedTable, s.ownedColumn}]; owner != nil {
		home = owner.root
		s.drop = !s.internal
	}
	return each(ctx, p.tx, `
SELECT coalesce(ad.adrelid, 0)::bigint, coalesce(ad.adnum, 0),
       CASE WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END
FROM pg_catalog.pg_depend d
LEFT JOIN pg_catalog.pg_attrdef ad ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND ad.oid = d.objid
LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = $1::bigint::oid
ORDER BY 3`, []any{s.oid}, func(rows *sql.Rows) error {
		var n node
		var object string
		if err := rows.Scan(&n.table, &n.column, &object); err != nil {
			return err
		}
		if user := p.columns[n]; user == nil || user.root != home {
			s.drop = false
			s.others = append(s.others, object)
		}
		return nil
	})
}

// grantsOf replays rights. What a default gives to others is taken away first.
func (p *inspection) grantsOf(ctx context.Context, s *sequence) error {
	var owner string
	var given bool
	var others []string
	has := map[string]bool{} // privileges of the owner
	err := each(ctx, p.tx, `
SELECT pg_get_userbyid(c.relowner), c.relacl IS NOT NULL, coalesce(a.grantee = c.relowner, false),
       coalesce(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ''),
       coalesce(string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type), ''), coalesce(a.is_grantable, false),
       CASE WHEN a.grantor <> c.relowner THEN pg_get_userbyid(a.grantor) ELSE '' END
FROM pg_catalog.pg_class c LEFT JOIN LATERAL aclexplode(c.relacl) AS a ON true
WHERE c.oid = $1::bigint::oid
GROUP BY c.oid, a.grantee, a.is_grantable, a.grantor ORDER BY 4, 6, 7`, []any{s.oid}, func(rows *sql.Rows) error {
		var own, grantable bool
		var grantee, privileges, grantor string
		if err := rows.Scan(&owner, &given, &own, &grantee, &privileges, &grantable, &grantor); err != nil {
			return err
		}
		switch {
		case grantor != "":
			others = append(others, grantor)
		case own:
			for privilege := range strings.SplitSeq(privileges, ", ") {
				has[privilege] = true
			}
		case grantee != "":
			grant := "GRANT " + privileges + " ON SEQUENCE " + s.target() + " TO " + grantee
			if grantable {
				grant += " WITH GRANT OPTION"
			}
			s.grants = append(s.grants, grant)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if given {
		for _, privilege := range []string{"SELECT", "UPDATE", "USAGE"} {
			if !has[privilege] {
				s.grants = append(s.grants, "REVOKE "+privilege+" ON SEQUENCE "+s.target()+" FROM "+pgsql.Quote(owner))
			}
		}
	}
	if len(others) > 0 && (s.drop || s.internal) {
		p.blocker(p.display(s.user.schema, s.user.table), "sequence "+p.display(s.schema, s.name),
			"rights on it were granted by "+strings.Join(others, ", ")+", who would have to do it again when phase detach is taken back",
			"revoke them, and grant them as the owner")
	}
	return p.revokeDefaults(ctx, s, owner)
}

func (p *inspection) revokeDefaults(ctx context.Context, s *sequence, owner string) error {
	var revokes []string
	err := each(ctx, p.tx, `
SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
FROM pg_catalog.pg_default_acl d
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace
CROSS JOIN LATERAL aclexplode(d.defaclacl) AS a
WHERE d.defaclobjtype = 'S' AND (n.nspname IS NULL OR n.nspname = $1::text) AND a.grantee <> d.defaclrole
  AND pg_get_userbyid(d.defaclrole) IN (current_user, $2::text)
ORDER BY 1`, []any{s.schema, owner}, func(rows *sql.Rows) error {
		var grantee string
		if err := rows.Scan(&grantee); err != nil {
			return err
		}
		revokes = append(revokes, "REVOKE ALL ON SEQUENCE "+s.target()+" FROM "+grantee)
		return nil
	})
	s.grants = slices.Concat(revokes, s.grants)
	return err
}
