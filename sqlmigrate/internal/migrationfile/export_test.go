package migrationfile

// File is a file that [WriteAll] writes.
type File struct{ Name, Text string }

// WriteAll exposes writeAll, which writes all files or no file.
func WriteAll(dir string, files []File) error {
	var converted []file
	for _, f := range files {
		converted = append(converted, file{f.Name, f.Text})
	}
	return writeAll(dir, converted)
}
