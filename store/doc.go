// Package store keeps what happened and what is known: sessions, the log of events, turns, calls, the model's
// history, approvals, grants, settings and leases, in one SQLite file.
//
// # One way to write
//
// [DB.Append] writes one [jackline.Record] in one transaction: events and the state they change, all or nothing.
// Whoever holds the one writing connection takes whatever waits into one transaction, each piece within a savepoint of
// its own, so that many small writes cost one commit and a piece that fails takes no other down. That is a caller that
// finds it free, or else the writer's goroutine. Nobody sees a piece before it is committed; watchers are woken after
// that, and find the newest events in memory. A record that may be written Soon is not waited for, and keeps its place in
// the order all the same.
//
// A store that is alone ([OpenAlone]) reads over that connection too, in line with the writes. There a record that may be written
// Soon waits a moment for the next one, or for somebody who reads what belongs to a session.
//
// Several processes may have one folder open: SQLite keeps their transactions apart, numbers go on across them, and
// watchers hear of another's writes within half a second. The folder must be on a local disk, since the write-ahead
// log is shared memory between them.
//
// # Owners
//
// Each call that reads or writes an owner's rows takes the owner. A row of somebody else is as absent as one that
// never was: both are [jackline.NotFound]. The few calls without an owner serve the program itself, not a person:
// [DB.OpenTurns], [DB.ExpiringApprovals], flags and leases.
//
// # Audit
//
// Each decision leaves a line in a table that only grows, in the same transaction as the record that it belongs to: without
// its line nothing is written. The lines of all owners are one chain (package chain), whose end is sealed into a second file:
// once a minute while it grows, when the store is closed, and for an export. Some lines follow from what is written: questions
// and their answers, grants, modes, settings that a person decided, switches, sessions that begin and end. Those about calls
// come with the record. To delete a session leaves its lines, which hold ids and nothing of what was in it.
//
// # Secrecy
//
// Arguments, results, history texts, approvals, grants and settings are sealed with AES-256-GCM under a key that
// lies beside the database, each bound to its table and row, so that a copied row opens nowhere else. Prompts,
// answers, titles and event bodies are plain, because they are searched and shown; what is secret in them is hidden as they are written,
// by package redact ([DB.Hide]). A turn whose words were changed by that has the exact ones sealed beside them, and a state likewise.
//
// # Other databases
//
// All that is particular to SQLite is in sqlite.go and the migrations folder; the rest is SQL that Postgres also
// understands. Package storetest is the contract that any further database has to pass.
package store
