package store

import (
	"encoding/json"
	"testing"

	"github.com/jackline-ai/jackline"
)

// What is learnt again may be lost to damage; rules may not.
func TestDamagedSettings(t *testing.T) {
	ctx := t.Context()
	db, err := Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var lost []string
	db.Spare(func(name string, err error) {
		if err != nil {
			lost = append(lost, name)
		}
	}, "learnt")
	damage := func(name string) {
		t.Helper()
		if _, err := db.write.ExecContext(ctx, `UPDATE settings SET sealed = x'0102' WHERE name = ?`, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"learnt", "rules"} {
		if err := db.PutSetting(ctx, jackline.Local, name, json.RawMessage(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	damage("learnt")
	if v, err := db.Setting(ctx, jackline.Local, "learnt"); v != nil || err != nil {
		t.Errorf("a damaged setting that is learnt again is %s, %v", v, err)
	}
	all, err := db.Settings(ctx, jackline.Local)
	if err != nil || len(all) != 1 || string(all["rules"]) != `{"a":1}` {
		t.Errorf("the others are %s, %v", all, err)
	}
	if len(lost) != 2 {
		t.Errorf("lost was told %v", lost)
	}
	if err := db.PutSetting(ctx, jackline.Local, "learnt", json.RawMessage(`2`)); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Setting(ctx, jackline.Local, "learnt"); string(v) != "2" || err != nil {
		t.Errorf("put again it is %s, %v", v, err)
	}
	damage("rules")
	if _, err := db.Settings(ctx, jackline.Local); err == nil {
		t.Error("damaged rules are as if there were none")
	}
}
