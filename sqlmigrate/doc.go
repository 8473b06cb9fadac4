// Package sqlmigrate moves existing tables from keys that the database assigns
// (serial, identity, AUTO_INCREMENT, AUTOINCREMENT) to Snowflake keys, together
// with every column that refers to them.
//
//	plan, err := sqlmigrate.Inspect(ctx, db, &Order{}, &Line{})
//	fmt.Print(plan)                                        // what would be done, for how long, under which locks
//	err = plan.WriteFiles("migrations", sqlmigrate.Goose)  // or run it from here:
//	err = plan.Apply(ctx, db)
//
// Nothing is renumbered: the old keys stay, and are smaller than any Snowflake
// ID. [Inspect] follows references in both directions, so that no foreign-key
// column is forgotten, and names what blocks the move before anything is
// changed.
//
// # Phases
//
// A plan has up to three phases, which can be deployed apart:
//
//   - widen: keys and the columns that refer to them become 64 bits wide. The
//     database still assigns keys; old and new versions of the application both
//     work. SQLite needs none: its integer columns are 64 bits wide, whatever
//     they are called.
//     [Plan.Online] does this while programs read and write.
//   - detach: the database assigns no more keys, so a program that forgets one
//     fails instead of mixing two kinds. On SQLite an omitted key is still
//     assigned by the engine, which cannot be told otherwise.
//   - guard: a CHECK (on SQLite a trigger) refuses keys that are not positive.
//
// [WithParkedCounters] has a phase park in place of the last two.
//
// An already moved schema gives an empty plan.
package sqlmigrate
