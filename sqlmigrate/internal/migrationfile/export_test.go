package migrationfile

// File is one to be written.
type File struct{ Name, Text string }

// WriteAll writes all files or none.
func WriteAll(dir string, files []File) error {
	var own []file
	for _, f := range files {
		own = append(own, file{f.Name, f.Text})
	}
	return writeAll(dir, own)
}
