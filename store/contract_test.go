package store_test

import (
	"testing"

	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.DB {
		db, err := store.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return db
	})
}
