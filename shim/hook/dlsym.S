/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported dlsym. glibc tells its caller by the return address (RTLD_NEXT, RTLD_DEFAULT), so everything that is
 * not ours ends in a jump with the program's own return address on the stack, at any optimisation.
 *
 *	if (!spy_real_dlsym) spy_find_dlsym();
 *	if (name && name[0] == 'c' && name[1] == 'u' && (wrapper = spy_pick(handle, name, return address)))
 *		return wrapper;
 *	goto *spy_real_dlsym;
 */
	.text
	.globl	dlsym
	.type	dlsym, %function
#if defined(__x86_64__)
	.p2align 4
dlsym:
dlsym_itself:
	.cfi_startproc
	endbr64
	cmpq	$0, spy_real_dlsym(%rip)
	je	3f
1:	testq	%rsi, %rsi
	je	2f
	cmpb	$'c', (%rsi)
	jne	2f
	cmpb	$'u', 1(%rsi)
	jne	2f
	movq	(%rsp), %rdx
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp		/* the call below wants the stack at a multiple of 16 */
	.cfi_adjust_cfa_offset 8
	call	spy_pick
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	je	2f
	ret
2:	jmp	*spy_real_dlsym(%rip)
3:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	spy_find_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	1b
	.cfi_endproc
#elif defined(__aarch64__)
	.p2align 4
dlsym:
dlsym_itself:
	.cfi_startproc
	hint	#34			/* bti c */
	adrp	x9, spy_real_dlsym
	ldr	x9, [x9, #:lo12:spy_real_dlsym]
	cbz	x9, 3f
1:	cbz	x1, 2f
	ldrb	w10, [x1]
	cmp	w10, #'c'
	b.ne	2f
	ldrb	w10, [x1, #1]
	cmp	w10, #'u'
	b.ne	2f
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x2, x30
	bl	spy_pick
	mov	x9, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	cbz	x9, 2f
	mov	x0, x9
	ret
2:	adrp	x9, spy_real_dlsym
	ldr	x16, [x9, #:lo12:spy_real_dlsym]
	br	x16
3:	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	spy_find_dlsym
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	b	1b
	.cfi_endproc
#endif
	.size	dlsym, . - dlsym
/*
 * The same at glibc's first version: a preload before us that goes on with dlvsym() passes over one without. At an address
 * of its own, or the linker takes the two for one.
 */
	.globl	next_dlsym
	.type	next_dlsym, %function
	.p2align 4
next_dlsym:
#if defined(__x86_64__)
	endbr64
	jmp	dlsym_itself
	.symver	next_dlsym, dlsym@GLIBC_2.2.5
#else
	hint	#34
	b	dlsym_itself
	.symver	next_dlsym, dlsym@GLIBC_2.17
#endif
	.size	next_dlsym, . - next_dlsym
	.hidden	spy_real_dlsym
	.hidden	spy_pick
	.hidden	spy_find_dlsym
	.section .note.GNU-stack, "", %progbits
