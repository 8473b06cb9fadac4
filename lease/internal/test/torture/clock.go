package torture

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A clock is wrong by its base. From time to time it steps to another offset, which
// differs from the base by at most skew.
type clock struct {
	mu           sync.Mutex
	random       *rand.Rand
	base, offset time.Duration
	skew         time.Duration // zero if it never steps
	next         time.Time     // time of the next step
	steps        int
}

// newClock returns a clock that is off by base, and steps by up to skew around that.
func newClock(base, skew time.Duration, seed uint64) *clock {
	// The issuer of the process has the stream 2 of this seed.
	c := &clock{random: rand.New(rand.NewPCG(seed, 1)), base: base, offset: base, skew: skew}
	c.plan(time.Now())
	return c
}

// plan chooses the time of the next step, 0.3 to 2.3 seconds from now.
func (c *clock) plan(now time.Time) {
	c.next = now.Add(300*time.Millisecond + time.Duration(c.random.Int64N(int64(2*time.Second))))
}

// now returns the clock's time. It strips the monotonic reading, because that reading
// would not step.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.skew > 0 && now.After(c.next) {
		c.offset = c.base + time.Duration(c.random.Int64N(int64(2*c.skew))) - c.skew
		c.steps++
		c.plan(now)
	}
	return now.Round(0).Add(c.offset)
}

// stepCount returns how often the clock has stepped.
func (c *clock) stepCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps
}
