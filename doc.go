// Package gormflake gives GORM models Snowflake primary keys, assigned in
// memory before the INSERT.
//
// Open once and tag the key:
//
//	gen, err := gormflake.Open(ctx, db)
//
//	type Order struct {
//		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
//	}
//
// Every row that GORM creates then gets its key before any user hook runs and
// before the transaction begins: single structs, slices, batches, maps,
// associations at any depth, Save, FirstOrCreate, upserts and the generics API.
// A key that the caller set is kept: do not bind a client's JSON into a model, or
// the client chooses keys; bind it into a type without them. One call of the generator serves all rows
// of a statement that lack a key.
//
// # Tags
//
//	snowflake:"pk"            a primary key column
//	snowflake:"id"            any other column that holds an ID
//	snowflake:"serial=PAY"    a string column that holds a serial number, see below
//	snowflake:"pk,gen=name"   the same, from a generator added by [WithGenerator]
//
// A tagged field is a types.ID, types.Of, int64, uint64, int or uint (where they have 64
// bits), a string, a named type of one of these kinds, a pointer to one, or its
// sql.Null form. A tag that is not valid, or on a field that cannot hold an ID,
// is an error at the first create; [Check] finds it at start-up.
//
// # Serial numbers
//
//	Number string `gorm:"size:32;uniqueIndex;<-:create" snowflake:"serial=PAY"`
//
// A serial number such as PAY2022062816074010511260000 is an ID in the format of
// package [serial], whose Parse returns the ID again. It is set when keys are, if
// it is empty; one that is set is kept. The field is a string, a named string, a
// pointer to one, or its sql.Null form, and may be the primary key.
//
// The serial number is made from the row's own key if that is the row's only
// primary key, is tagged pk and has the same generator. A key that the caller set
// counts too if it fits into the layout: the serial number of an old key such as
// 17 has a time just after the epoch, and is as unique and reversible as any
// other. Every other row gets a new ID for its serial numbers.
//
// If the key is also the foreign key of a belongs-to relation, GORM sets it when
// it saves that relation, after BeforeSave and BeforeCreate. A row with such a
// relation gets its serial number only then, so these hooks do not see it.
//
// The generator must have a method Layout() snowflake.Layout, as a
// *snowflake.Generator has. A column too narrow for its serial numbers is an
// error at the first create.
//
// An upsert with UpdateAll leaves tagged columns as they are, so that a row keeps its
// IDs and its serial number. GORM updates the column like any other in Save, which
// overwrites a serial number with the empty string if the struct holds that.
// gorm:"<-:create" prevents it.
//
// # Select and Omit
//
// A tagged column that the statement omits ([gorm.DB.Omit]) is not filled. One
// that [gorm.DB.Select] leaves out is written nevertheless, because the row would
// otherwise have another key than the struct. It is an error to omit a primary key,
// unless the model leaves it to the database and GORM reads it back, and to omit
// another tagged column whose value the struct has.
//
// # Upserts
//
// A row that an upsert finds by another unique column keeps its old key and its
// serial number, and the struct and its children in the same Create get these. SQLite,
// PostgreSQL and MariaDB return them; on MySQL the plugin asks for them. Children that
// were linked to the replaced key before, by [Assign] or by hand, must be linked again.
// If DO NOTHING, or a condition, leaves a row out, its struct has no key afterwards, or
// the key of the row that is there.
//
// An upsert by another column than the key is an error if it is of a slice of maps, or
// of a slice with Where, because GORM cannot assign the keys that come back: create such
// rows one by one. So is one whose row cannot be found, because the model does not
// declare its unique columns.
//
// The plugin decides this on the statement that is sent, after all hooks. A callback that
// changes the statement must be registered before the plugin.
package gormflake
