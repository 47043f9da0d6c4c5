package main

// Garbage collection.
var _ = register(scenario{
	Name: "tree-builder",
	About: "Four builders receive messages from a channel, build a tree of small nodes from each, and keep " +
		"the latest trees: nearly all CPU time goes to allocation and garbage collection, hardly any to " +
		"the channel.",
	Instead: garbageCollection,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound: func(s *service) { startBuilders(s, 16) },
		buffer:  func(s *service) { startBuilders(s, 1024) },
	},
})

const (
	builders  = 4
	treesKept = 1000 // per builder
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
