package testcluster

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"syscall"
)

// canPart reports whether the mesh can identify servers by their connections.
const canPart = true

// Constants of linux/sock_diag.h and linux/inet_diag.h that package syscall lacks.
const (
	sockDiag         = 4  // NETLINK_SOCK_DIAG
	sockDiagByFamily = 20 // a type of messages
	diagRequestBytes = 56
	diagSocketAt     = 4                      // offset of the ports and addresses in an answer
	diagInodeAt      = diagSocketAt + 48 + 16 // offset of the inode, which follows four numbers
)

// socketOf returns the kernel's name of the peer socket of a connection, or "" if the
// socket is closed.
func socketOf(conn net.Conn) string {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, sockDiag)
	if err != nil {
		return ""
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Sendto(fd, diagRequest(conn), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return ""
	}
	answer := make([]byte, 1<<12)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return ""
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(messages) != 1 || len(messages[0].Data) < diagInodeAt+4 {
		return ""
	}
	inode := binary.NativeEndian.Uint32(messages[0].Data[diagInodeAt:])
	if inode == 0 {
		return "" // closed
	}
	return fmt.Sprintf("socket:[%d]", inode)
}

// diagRequest returns the request for the socket whose local address is conn's remote
// address. Its layout is struct inet_diag_req_v2 of linux/inet_diag.h, after a header.
func diagRequest(conn net.Conn) []byte {
	from, to := conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr)
	b := binary.NativeEndian.AppendUint32(nil, syscall.NLMSG_HDRLEN+diagRequestBytes)
	b = binary.NativeEndian.AppendUint16(b, sockDiagByFamily)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // number and sender of the request
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // in any state
	b = binary.BigEndian.AppendUint16(b, uint16(from.Port))
	b = binary.BigEndian.AppendUint16(b, uint16(to.Port))
	b = append(append(b, from.IP.To4()...), make([]byte, 12)...)
	b = append(append(b, to.IP.To4()...), make([]byte, 12)...)
	b = binary.NativeEndian.AppendUint32(b, 0)             // on any interface
	return binary.NativeEndian.AppendUint64(b, ^uint64(0)) // without a cookie
}

// hasSocket reports whether the process has the socket open.
func hasSocket(pid int, socket string) bool {
	folder := fmt.Sprintf("/proc/%d/fd/", pid)
	dir, err := os.Open(folder)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if target, err := os.Readlink(folder + name); err == nil && target == socket {
			return true
		}
	}
	return false
}
