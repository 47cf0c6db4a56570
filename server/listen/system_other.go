//go:build !unix

package listen

// isWritable lets a write wait.
func isWritable(uintptr) bool { return true }

// MaxOpenFiles is the limit of open files of this process: there is none.
func MaxOpenFiles() int { return 1 << 30 }
