// Package queue is a line in which things wait for one who takes several at a time.
package queue

import "sync"

// A Queue holds what waits, in order. It is safe for several goroutines at once.
type Queue[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	wake   chan struct{}
}

// New is an empty queue.
func New[T any]() *Queue[T] { return &Queue[T]{wake: make(chan struct{}, 1)} }

// Put adds one. It reports false where nothing is taken any more.
func (q *Queue[T]) Put(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, item)
	return true
}

// Len is how many wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// Take gives those that waited longest, at most so many, and whether the queue was shut and is now empty.
func (q *Queue[T]) Take(most int) (items []T, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.items), most)
	items, q.items = q.items[:n:n], q.items[n:]
	if len(q.items) == 0 {
		q.items = nil
	}
	return items, q.closed && n == 0
}

// IsShut reports whether nothing is taken any more.
func (q *Queue[T]) IsShut() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Shut takes nothing more, and wakes. What waits can still be taken.
func (q *Queue[T]) Shut() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.Poke()
}

// Poke wakes whoever waits for [Queue.Wake], or who does so next.
func (q *Queue[T]) Poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Wake is where one waits to be woken.
func (q *Queue[T]) Wake() <-chan struct{} { return q.wake }
