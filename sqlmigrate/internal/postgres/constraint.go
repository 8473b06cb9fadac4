package postgres

import (
	"fmt"

	"github.com/gormflake/gormflake/sqlmigrate/internal/pgsql"
)

// constraintsSQL returns the constraints that lose properties when PostgreSQL creates them
// again. These are the CHECKs (contype 'c'), and the foreign keys ('f') that come from a
// foreign key of a partitioned table (conparentid <> 0). An inherited CHECK loses its
// comment. A foreign key of a partition loses its comment and its name.
//
// The foreign keys of parents come before those of their partitions, because
// renameToTemporary finds a foreign key by the temporary name of its parent. The number of
// ancestors of both tables gives this order. conislocal marks the CHECKs that a table has of
// its own. A CHECK that a table only has from its parent is created with the parent's CHECK.
const constraintsSQL = `
SELECT made.root::bigint, c.conrelid::bigint, c.contype = 'c' AND c.conislocal, n.nspname, r.relname, c.conname,
       obj_description(c.oid, 'pg_constraint'),
       pg_get_constraintdef(c.oid), c.oid::bigint, c.confrelid::regclass::text,
       coalesce(p.conrelid::regclass::text, ''), coalesce(p.conname, ''), c.conparentid::bigint, coalesce(p.conparentid, 0)::bigint
FROM made
JOIN pg_catalog.pg_constraint c ON made.classid = 'pg_catalog.pg_constraint'::regclass AND c.oid = made.objid
JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid
WHERE c.contype = 'c' OR c.contype = 'f' AND c.conparentid <> 0
ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.conrelid)) + (SELECT count(*) FROM pg_partition_ancestors(c.confrelid)), n.nspname, r.relname, c.conname`

// A keptConstraint is a constraint whose comment or name is restored after PostgreSQL has
// created it again.
type keptConstraint struct {
	Rebuilt
	Schema, Table, Name string
	Comment             *string
	Definition          string

	// The following fields are set for a foreign key that comes from another foreign key,
	// its parent. Refers is the table to which it refers. Parent is the name of the
	// parent, and ParentTable its table.
	OID                         int64
	Refers, ParentTable, Parent string
	ParentOID, GrandparentOID   int64
}

// table returns the quoted name of the constraint's table with its schema.
func (c *keptConstraint) table() string { return pgsql.Qualified(c.Schema, c.Table) }

// keep returns the statement that restores the comment, if there is one.
func (c *keptConstraint) keep() []string {
	return pgsql.Comment("CONSTRAINT "+pgsql.Quote(c.Name)+" ON "+c.table(), c.Comment)
}

// statements implements object. It returns the statements that drop the constraint and add
// it again.
func (c *keptConstraint) statements() (drop, create string) {
	return dropAndAddConstraint("", c.table(), pgsql.Quote(c.Name), c.Definition)
}

// restoreConstraints returns the statements that restore the comments of the constraints
// and the names of foreign keys. It first renames all foreign keys to temporary names,
// because PostgreSQL may have given the former name of one foreign key to another, and two
// cannot have the same name.
func restoreConstraints(constraints []*keptConstraint) []string {
	var toTemporary, toFinal string
	var comments []string
	for _, c := range constraints {
		comments = append(comments, c.keep()...)
		if c.ParentOID != 0 { // PostgreSQL has chosen a new name for this foreign key
			toTemporary, toFinal = toTemporary+c.renameToTemporary(), toFinal+fmt.Sprintf("  ALTER TABLE %s RENAME CONSTRAINT %s TO %s;\n", c.table(), temporaryName(c.OID), pgsql.Quote(c.Name))
		}
	}
	if toTemporary == "" {
		return comments
	}
	return append([]string{pgsql.Do("", toTemporary+toFinal)}, comments...)
}

// temporaryName returns a temporary name for the constraint with this OID, for example
// sqlmigrate_0000016402. The name has the same length for every OID, so that the layout of
// a statement does not depend on the OID.
func temporaryName(oid int64) string { return fmt.Sprintf("sqlmigrate_%010d", oid) }

// renameToTemporary returns a part of the body of a DO statement that renames a foreign key
// to its temporary name. The name that PostgreSQL has chosen for the foreign key is unknown,
// so the statement finds the foreign key by its tables and by the name of its parent. The
// parent still has its own name, unless the parent has a parent too. Then it has its
// temporary name already, because parents are renamed first.
func (c *keptConstraint) renameToTemporary() string {
	parent := c.Parent
	if c.GrandparentOID != 0 {
		parent = temporaryName(c.ParentOID)
	}
	return fmt.Sprintf("  EXECUTE (SELECT pg_catalog.format('ALTER TABLE %%s RENAME CONSTRAINT %%I TO %s', c.conrelid::regclass, c.conname)\n"+
		"    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_constraint p ON p.oid = c.conparentid\n"+
		"    WHERE p.conrelid = %s::regclass AND p.conname = %s AND c.conrelid = %s::regclass AND c.confrelid = %s::regclass);\n",
		temporaryName(c.OID), pgsql.Literal(c.ParentTable), pgsql.Literal(parent), pgsql.Literal(c.table()), pgsql.Literal(c.Refers))
}
