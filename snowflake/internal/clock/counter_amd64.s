//go:build gc && linux && !purego && !faketime

#include "textflag.h"

// func Count() uint64
TEXT ·Count(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func invariant() bool
TEXT ·invariant(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	MOVL $0x80000000, AX // the highest leaf there is
	CPUID
	CMPL AX, $0x80000007
	JCS  none
	MOVL $0x80000007, AX // power management
	CPUID
	BTL  $8, DX
	SETCS ret+0(FP)

none:
	RET
