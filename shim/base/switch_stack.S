/* SPDX-License-Identifier: Apache-2.0 */
/*
 * void spy_switch_stack(void (*f)(void *), void *argument, void *top): calls f(argument) on the stack
 * that ends at `top`, a multiple of 16. The frame pointer leads back, for debuggers and unwinders.
 */
	.text
	.globl	spy_switch_stack
	.hidden	spy_switch_stack
	.type	spy_switch_stack, %function
#if defined(__x86_64__)
	.p2align 4
spy_switch_stack:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsp
	call	*%rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
#elif defined(__aarch64__)
	.p2align 4
spy_switch_stack:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	.cfi_def_cfa_register 29
	mov	x9, x0
	mov	x0, x1
	mov	sp, x2
	blr	x9
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
#endif
	.size	spy_switch_stack, . - spy_switch_stack
	.section .note.GNU-stack,"",%progbits
