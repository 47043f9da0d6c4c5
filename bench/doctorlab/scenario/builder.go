package main

// The collector.
var _ = register(scenario{
	Name: "tree-builder",
	About: "Four builders take messages from a channel, make a tree of small nodes of each, and keep the last " +
		"trees: nearly all CPU goes to allocation and the collector, and next to nothing to the channel.",
	Instead: garbageCollection,
	Right:   []string{nothing},
	builds: map[string]build{
		asFound: func(s *service) { startBuilders(s, 16) },
		buffer:  func(s *service) { startBuilders(s, 1024) },
	},
})

const (
	builders  = 4
	treesKept = 1000 // by each builder
	treeDepth = 8    // 511 nodes
)

type builder struct {
	messages chan uint64
}

// A node of a tree.
type node struct {
	left, right *node
	key         *uint64
}

func startBuilders(s *service, capacity int) {
	b := &builder{messages: make(chan uint64, capacity)}
	for range builders {
		go b.build(s.counter())
	}
	go b.read()
}

func (b *builder) read() {
	for n := uint64(0); ; n++ {
		b.messages <- n
	}
}

func (b *builder) build(done *counter) {
	var kept [treesKept]*node
	for n := range b.messages {
		kept[n%treesKept] = tree(n, treeDepth)
		done.add(1)
	}
}

func tree(key uint64, depth int) *node {
	own := key
	t := &node{key: &own}
	if depth > 0 {
		t.left, t.right = tree(2*key, depth-1), tree(2*key+1, depth-1)
	}
	return t
}
