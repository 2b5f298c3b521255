// How threads of OpenMP wait for work. By default they spin for milliseconds, which takes the cores away from
// those who have work as soon as another program runs: a training step then takes 7 to 40 times as long.
#pragma once

namespace mega {

// Asks OpenMP, in the environment of a program that is executed next, to let waiting threads sleep soon. What
// the user set stays. OpenMP reads its environment before main(): in a running program it is too late.
void let_idle_threads_sleep();

// Whether this program was started so (OMP_WAIT_POLICY=passive, or a small GOMP_SPINCOUNT).
bool idle_threads_sleep();

}  // namespace mega
