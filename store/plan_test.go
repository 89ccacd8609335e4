package store

import (
	"strings"
	"testing"
)

// TestPlans: what is read often is found by an index, however much the tables hold.
func TestPlans(t *testing.T) {
	d := openTest(t, t.TempDir())
	for name, test := range map[string]struct{ query, want string }{
		"open turns": {`SELECT id FROM turns WHERE ` + sqlOpen, "turns_open"},
		"status":     {`SELECT max(status) FROM turns t WHERE t.session = ? AND t.` + sqlOpen, "turns_open"},
		"cards":      {`SELECT count(*) FROM approvals a WHERE a.session = ? AND a.state = 'pending'`, "approvals_open"},
		"expiring":   {`SELECT id FROM approvals WHERE state = 'pending' AND expires > 0 AND expires < ? ORDER BY expires, num`, "approvals_open"},
		"log":        {`SELECT data FROM events WHERE session = ? AND id > ? ORDER BY id LIMIT 5`, "events_log"},
		"all logs":   {`SELECT data FROM events WHERE owner = ? AND seq > ? ORDER BY seq LIMIT 5`, "events_owner"},
		"log's end":  {`SELECT max(id) FROM events WHERE session = ?`, "events_log"},
		"sessions":   {`SELECT id FROM sessions s WHERE s.owner = ? ORDER BY s.updated DESC, s.num DESC LIMIT 5`, "sessions_newest"},
		"history":    {`SELECT i.n FROM items i JOIN sessions s ON s.id = i.session WHERE i.session = ? AND i.n > s.gen_after ORDER BY i.n`, "items_history"},
		"calls":      {`SELECT c.id FROM calls c WHERE c.session = ? AND c.turn = ?`, "calls_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := d.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+strings.ReplaceAll(test.query, "?", "1"))
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				plan = append(plan, detail)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(plan, "; ")
			sorts := strings.Contains(text, "TEMP B-TREE") && name != "expiring"
			if !strings.Contains(text, test.want) || sorts {
				t.Error(text)
			}
		})
	}
}
