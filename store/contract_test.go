package store_test

import (
	"context"
	"testing"

	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/store/storetest"
)

func TestContract(t *testing.T) {
	for name, open := range map[string]func(context.Context, string) (*store.DB, error){"shared": store.Open, "alone": store.OpenAlone} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) *store.DB {
				db, err := open(t.Context(), t.TempDir())
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
		})
	}
}
