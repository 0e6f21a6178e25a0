;; XXH64 of consecutive blocks, each seeded by the hash of the block before it, in one call: a call per block costs more than the hash.
;; The function is that of the XXH64 specification; constants are its five primes.
;;
;; Memory: bytes 0 to 7 hold the seed, and the last hash after a call; the hashes go to 8 and on; the text begins wherever the caller says.
(module
  (memory (export "memory") 2)

  (func $round (param $lane i64) (param $accumulator i64) (result i64)
    (i64.mul
      (i64.rotl
        (i64.add (local.get $accumulator) (i64.mul (local.get $lane) (i64.const 0xC2B2AE3D27D4EB4F)))
        (i64.const 31))
      (i64.const 0x9E3779B185EBCA87)))

  (func $merge (param $hash i64) (param $accumulator i64) (result i64)
    (i64.add
      (i64.mul
        (i64.xor (local.get $hash) (call $round (local.get $accumulator) (i64.const 0)))
        (i64.const 0x9E3779B185EBCA87))
      (i64.const 0x85EBCA77C2B2AE63)))

  (func $hash (param $at i32) (param $length i32) (param $seed i64) (result i64)
    (local $end i32) (local $stripesEnd i32) (local $h i64)
    (local $a i64) (local $b i64) (local $c i64) (local $d i64)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (if (i32.ge_u (local.get $length) (i32.const 32))
      (then
        (local.set $stripesEnd (i32.sub (local.get $end) (i32.const 31)))
        (local.set $a (i64.add (local.get $seed) (i64.add (i64.const 0x9E3779B185EBCA87) (i64.const 0xC2B2AE3D27D4EB4F))))
        (local.set $b (i64.add (local.get $seed) (i64.const 0xC2B2AE3D27D4EB4F)))
        (local.set $c (local.get $seed))
        (local.set $d (i64.sub (local.get $seed) (i64.const 0x9E3779B185EBCA87)))
        ;; The rounds are written out: a call for each would double their cost.
        (loop $stripe
          (local.set $a
            (i64.mul
              (i64.rotl
                (i64.add (local.get $a) (i64.mul (i64.load align=1 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F)))
                (i64.const 31))
              (i64.const 0x9E3779B185EBCA87)))
          (local.set $b
            (i64.mul
              (i64.rotl
                (i64.add (local.get $b) (i64.mul (i64.load offset=8 align=1 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F)))
                (i64.const 31))
              (i64.const 0x9E3779B185EBCA87)))
          (local.set $c
            (i64.mul
              (i64.rotl
                (i64.add (local.get $c) (i64.mul (i64.load offset=16 align=1 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F)))
                (i64.const 31))
              (i64.const 0x9E3779B185EBCA87)))
          (local.set $d
            (i64.mul
              (i64.rotl
                (i64.add (local.get $d) (i64.mul (i64.load offset=24 align=1 (local.get $at)) (i64.const 0xC2B2AE3D27D4EB4F)))
                (i64.const 31))
              (i64.const 0x9E3779B185EBCA87)))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (br_if $stripe (i32.lt_u (local.get $at) (local.get $stripesEnd))))
        (local.set $h
          (i64.add
            (i64.add (i64.rotl (local.get $a) (i64.const 1)) (i64.rotl (local.get $b) (i64.const 7)))
            (i64.add (i64.rotl (local.get $c) (i64.const 12)) (i64.rotl (local.get $d) (i64.const 18)))))
        (local.set $h (call $merge (local.get $h) (local.get $a)))
        (local.set $h (call $merge (local.get $h) (local.get $b)))
        (local.set $h (call $merge (local.get $h) (local.get $c)))
        (local.set $h (call $merge (local.get $h) (local.get $d))))
      (else
        (local.set $h (i64.add (local.get $seed) (i64.const 0x27D4EB2F165667C5)))))
    (local.set $h (i64.add (local.get $h) (i64.extend_i32_u (local.get $length))))

    (block $noEights
      (loop $eight
        (br_if $noEights (i32.gt_u (i32.add (local.get $at) (i32.const 8)) (local.get $end)))
        (local.set $h
          (i64.add
            (i64.mul
              (i64.rotl
                (i64.xor (local.get $h) (call $round (i64.load align=1 (local.get $at)) (i64.const 0)))
                (i64.const 27))
              (i64.const 0x9E3779B185EBCA87))
            (i64.const 0x85EBCA77C2B2AE63)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $eight)))
    (if (i32.le_u (i32.add (local.get $at) (i32.const 4)) (local.get $end))
      (then
        (local.set $h
          (i64.add
            (i64.mul
              (i64.rotl
                (i64.xor
                  (local.get $h)
                  (i64.mul (i64.load32_u align=1 (local.get $at)) (i64.const 0x9E3779B185EBCA87)))
                (i64.const 23))
              (i64.const 0xC2B2AE3D27D4EB4F))
            (i64.const 0x165667B19E3779F9)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))))
    (block $noBytes
      (loop $byte
        (br_if $noBytes (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $h
          (i64.mul
            (i64.rotl
              (i64.xor
                (local.get $h)
                (i64.mul (i64.load8_u (local.get $at)) (i64.const 0x27D4EB2F165667C5)))
              (i64.const 11))
            (i64.const 0x9E3779B185EBCA87)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $byte)))

    (local.set $h
      (i64.mul
        (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 33)))
        (i64.const 0xC2B2AE3D27D4EB4F)))
    (local.set $h
      (i64.mul
        (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 29)))
        (i64.const 0x165667B19E3779F9)))
    (i64.xor (local.get $h) (i64.shr_u (local.get $h) (i64.const 32))))

  ;; Hashes `count` blocks of `length` bytes from `at` on.
  (func (export "chain") (param $at i32) (param $count i32) (param $length i32)
    (local $out i32) (local $h i64)
    (local.set $h (i64.load (i32.const 0)))
    (local.set $out (i32.const 8))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $h (call $hash (local.get $at) (local.get $length) (local.get $h)))
        (i64.store (local.get $out) (local.get $h))
        (local.set $out (i32.add (local.get $out) (i32.const 8)))
        (local.set $at (i32.add (local.get $at) (local.get $length)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i64.store (i32.const 0) (local.get $h))))
