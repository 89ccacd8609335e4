package dialect

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLarge reads outputs of sixteen megabytes, and wants the memory that they take to be no more than a few times theirs, also
// where each of their bytes is made to cost much.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	size, most := 16<<20, 10.0
	if slower > 1 {
		size, most = 1<<20, 100 // the race detector has memory of its own
	}
	catalog := everything(t, loadCorpus(t))
	fill := func(begin, unit string) string { return begin + strings.Repeat(unit, size/len(unit)) }
	for name, text := range map[string]string{
		"prose":    fill("", plainProse),
		"thoughts": fill("", "<think>a</think>b"),
		"framing":  fill("", "<|end|>a"),
		"calls":    fill("", "<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}</tool_call>\n"),
		"list":     fill("<tool_call>{\"name\": \"plot\", \"arguments\": {\"points\": [", "1,"),
		"lists":    fill("[{\"name\": \"plot\", \"arguments\": {\"points\": [", "[],"),
		"string":   fill("<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"", "x\\n"),
		"half":     fill("", malformed["quotes of Gemma"]),
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(10))
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before, peak := m.HeapInuse, m.HeapInuse
			stop := make(chan struct{})
			var watching sync.WaitGroup
			watching.Go(func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-stop:
						return
					case <-tick.C:
						runtime.ReadMemStats(&m)
						peak = max(peak, m.HeapInuse)
					}
				}
			})
			start := time.Now()
			r := Read(catalog, text)
			took := time.Since(start)
			close(stop)
			watching.Wait()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			runtime.KeepAlive(r)
			if times := float64(peak-before) / float64(len(text)); times > most {
				t.Errorf("took %.1f times its length", times)
			}
			if took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
