// Package sqlmigrate moves existing tables from keys that the database assigns (serial,
// identity, AUTO_INCREMENT, AUTOINCREMENT) to Snowflake keys, together with every column
// that refers to them.
//
//	plan, err := sqlmigrate.Inspect(ctx, db, &Order{}, &Line{})
//	fmt.Print(plan)                                        // the steps, their locks and estimates
//	err = plan.WriteFiles("migrations", sqlmigrate.Goose)  // or run it from here:
//	err = plan.Apply(ctx, db)
//
// The existing keys do not change, and are smaller than any Snowflake ID. [Inspect]
// follows references in both directions, so that it also finds the foreign-key columns of
// tables that the caller did not name. It reports every blocker before anything is
// changed.
//
// The main types are [Plan] and [OnlinePlan]. [Inspect] returns a Plan. [Plan.Apply]
// carries it out, and [Plan.Revert] takes it back. [Plan.Online] returns an OnlinePlan,
// which widens the keys while programs read and write. The caller of these methods passes
// the database handle, because a plan holds no connection.
//
// # Phases
//
// A plan has up to three phases, which can be deployed apart:
//
//   - widen: keys and the columns that refer to them become 64 bits wide. The
//     database still assigns keys; old and new versions of the application both
//     work. SQLite does not have this phase, because its integer columns are
//     always 64 bits wide. [Plan.Online] does the work of this phase while
//     programs read and write.
//   - detach: the database stops assigning keys. A program that omits a key then
//     gets an error, instead of a row with an old kind of key. On SQLite the
//     engine still assigns an omitted key, because it cannot be configured
//     otherwise.
//   - guard: a CHECK (on SQLite a trigger) refuses keys that are not positive.
//
// With [WithParkedCounters], phase park replaces detach and guard.
//
// The plan of a schema that has already been moved is empty.
package sqlmigrate
