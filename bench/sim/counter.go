package sim

// The programs of the benchmarks without a queue: each goroutine repeats one operation.

// addPrograms is fetch-and-add of one word.
func addPrograms(cores int, work float64) []Program {
	var line Line
	return each(cores, func(c *Core) {
		c.Add(&line, 1)
		c.Work(work)
		c.Done(1)
	})
}

// casPrograms is an addition by compare-and-swap.
func casPrograms(cores int, work float64) []Program {
	var line Line
	return each(cores, func(c *Core) {
		for {
			word := c.Load(&line)
			if c.CAS(&line, word, word+1) {
				break
			}
		}
		c.Work(work)
		c.Done(1)
	})
}

// privatePrograms is an addition to a word of the goroutine's own.
func privatePrograms(cores int, work float64) []Program {
	programs := make([]Program, cores)
	for i := range programs {
		var line Line
		programs[i] = loop(func(c *Core) {
			c.Add(&line, 1)
			c.Work(work)
			c.Done(1)
		})
	}
	return programs
}

// lockPrograms is an addition under a lock, to a word beside it.
func lockPrograms(newLock func() Lock) func(cores int, work float64) []Program {
	return func(cores int, work float64) []Program {
		lock := newLock()
		var data Line
		return each(cores, func(c *Core) {
			lock.Lock(c)
			c.Write(&data)
			lock.Unlock(c)
			c.Work(work)
			c.Done(1)
		})
	}
}

// each returns the same program for every core.
func each(cores int, operation func(c *Core)) []Program {
	programs := make([]Program, cores)
	for i := range programs {
		programs[i] = loop(operation)
	}
	return programs
}

func loop(operation func(c *Core)) Program {
	return func(c *Core) {
		for {
			operation(c)
		}
	}
}
