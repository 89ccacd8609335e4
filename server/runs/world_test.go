package runs_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/runs/runstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const other = jackline.Owner("somebody else")

// A world is what the tests of this package do with one.
type world struct{ *runstest.World }

func newTurns(t *testing.T, dir string, opts ...runstest.Option) *world {
	t.Helper()
	return &world{runstest.New(t, dir, opts...)}
}

func alone(t *testing.T, opts ...runstest.Option) *world {
	t.Helper()
	return newTurns(t, filepath.Join(t.TempDir(), "data"), opts...)
}

func wantKind(t *testing.T, err error, k jackline.Kind) {
	t.Helper()
	if err == nil || jackline.KindOf(err) != k {
		t.Fatalf("error %v, want kind %v", err, k)
	}
}
