package engine

// A Survey is what a catalog shows of columns that may hold keys. The schema of a
// table is empty if it is the current one.
type Survey struct {
	Current     string // the current schema
	Columns     []NarrowColumn
	Tables      []TableName
	ForeignKeys []Reference
	TypeColumns []Reference // columns whose name ends with _type: Table and Column
	Texts       []Text
}

// A NarrowColumn is too narrow for a Snowflake ID.
type NarrowColumn struct {
	Table    TableName
	Name     string // in a column of a composite type: column.attribute
	Type     string
	Comment  string
	Assigned bool   // by the database, so it is a key of its own table
	Alone    bool   // is the primary key
	Change   string `row:"-"` // how it is made wide, if no plan does that
}

// String is the name as [ParseColumn] reads it.
func (c *NarrowColumn) String() string { return c.Table.String() + "." + QuoteDotted(c.Name) }

// A Text is the definition of a view, function or trigger.
type Text struct{ Object, SQL string }
