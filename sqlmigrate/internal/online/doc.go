// Package online decides what an online widening does next: it carries out the
// steps of a plan one by one, resumes and takes back, tries again what had no
// lock in time, and paces the copy by the stalls that it causes.
package online
