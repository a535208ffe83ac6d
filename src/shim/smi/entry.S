/*
 * entry.S: dlsym() as programs reach it. What smi_take() gives is the answer; else it is the linker's own, which is
 * jumped to with the program's return address: by that address it knows for whom RTLD_NEXT and RTLD_DEFAULT are.
 */
	.hidden smi_take
	.hidden smi_linker
	.text
	.globl	dlsym
	.p2align 4
#if defined(__x86_64__)
	.type	dlsym, @function
dlsym:
	.cfi_startproc
	endbr64
	pushq	%rdi
	pushq	%rsi
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 24
	call	smi_take
	addq	$8, %rsp
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -24
	testq	%rax, %rax
	jne	1f
	jmp	*smi_linker(%rip)
1:	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
#elif defined(__aarch64__)
	.type	dlsym, %function
dlsym:
	.cfi_startproc
	hint	#34
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	smi_take
	mov	x9, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	cbnz	x9, 1f
	adrp	x16, smi_linker
	ldr	x16, [x16, :lo12:smi_linker]
	br	x16
1:	mov	x0, x9
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
#else
#error "no entry for this processor"
#endif
	.section .note.GNU-stack, "", %progbits
